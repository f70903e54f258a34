-- Fragment: what tenants and keys may take in a day and in a month, in tokens and in money. A hash for each that has a budget:
--   day, month                        the day and the month of UTC that its counts are of, both counted
--   tokens_in_day, tokens_in_month    reserved or taken
--   spend_in_day, spend_in_month      the same in billionths of the currency
--   told_<limit>                      the limit, and the day or month of which a warning was told
-- A response counts in the day and the month of its accept, also where it ends later. A clock that was set back begins neither anew.

-- How long counts stay behind the last accept, in ms: more than a month.
local budget_ms = 40 * 86400000

local budget_limits = {
  { limit = 'tokens_per_day', count = 'tokens_in_day', kind = 'tokens', period = 'day' },
  { limit = 'spend_per_day', count = 'spend_in_day', kind = 'spend', period = 'day' },
  { limit = 'tokens_per_month', count = 'tokens_in_month', kind = 'tokens', period = 'month' },
  { limit = 'spend_per_month', count = 'spend_in_month', kind = 'spend', period = 'month' }
}

-- The fields of a budget as they are read: its day and month, and the count of each limit in the order above.
local budget_fields = { 'day', 'month' }
for _, row in ipairs(budget_limits) do budget_fields[#budget_fields + 1] = row.count end

local function budget_key(load, of, name) return string.sub(load, 1, -5) .. 'budget:' .. of .. ':' .. name end

local function print_amount(amount) return string.format('%.0f', amount) end

-- The month of a day; both are counted, days since 1970. By `civil_from_days` of Howard Hinnant
-- (https://howardhinnant.github.io/date_algorithms.html), whose years begin in March.
local function month_of(day)
  local days = day + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)
  year = math.floor(year / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  return (era * 400 + year) * 12 + math.floor((5 * of_year + 2) / 153) + 2
end

-- The present day and month, and each count in them: nothing yet where the hash is of an earlier one.
local function budget_now(budget, now)
  local f = redis.call('HMGET', budget, unpack(budget_fields))
  local day = math.max(math.floor(now / 86400000), tonumber(f[1]) or 0)
  local month = month_of(day)
  local is_same = { day = tonumber(f[1]) == day, month = tonumber(f[2]) == month }
  local present = { day = day, month = month }
  for at, row in ipairs(budget_limits) do present[row.count] = is_same[row.period] and tonumber(f[at + 2]) or 0 end
  return present
end

-- The state of one budget; nil where `limits` say none. `prefix` begins the names of its limits, and `amounts` are what a response may
-- take, by kind. `whole` has the limits of all cells, of which these may be a part.
local function look_at_budget(budget, of, limits, prefix, amounts, now)
  local present, over, most, whole = nil, nil, {}, {}
  for _, row in ipairs(budget_limits) do
    local limit = limits[prefix .. row.limit]
    if limit then
      most[row.limit] = limit
      whole[row.limit] = limits['whole_' .. prefix .. row.limit] or limit
      present = present or budget_now(budget, now)
      local left = limit - present[row.count]
      if not over and amounts[row.kind] > left then over = { prefix .. row.limit, math.max(0, left) } end
    end
  end
  return present and { key = budget, of = of, limits = most, whole = whole, present = present, amounts = amounts, over = over }
end

-- The budgets of the tenant and of the key of a response that is to be accepted. Returns them, and the limit that it is more than: its name
-- and how much of it is left, or nil.
local function look_at_budgets(load, tenant, key, limits, amounts, now)
  local budgets = { look_at_budget(budget_key(load, 'tenant', tenant), 'tenant', limits, '', amounts, now) }
  budgets[#budgets + 1] = look_at_budget(budget_key(load, 'key', key), 'key', limits, 'key_', amounts, now)
  local over
  for _, budget in ipairs(budgets) do over = over or budget.over end
  return budgets, over
end

-- Takes what a response may take off its budgets. Returns what its record keeps of that; an empty text without a budget.
local function reserve(budgets)
  if not budgets[1] then return '' end
  local of = {}
  for at, budget in ipairs(budgets) do
    of[at] = budget.of
    local fields = { 'day', print_amount(budget.present.day), 'month', print_amount(budget.present.month) }
    for _, row in ipairs(budget_limits) do
      fields[#fields + 1] = row.count
      fields[#fields + 1] = print_amount(budget.present[row.count] + budget.amounts[row.kind])
    end
    redis.call('HSET', budget.key, unpack(fields))
    redis.call('PEXPIRE', budget.key, budget_ms)
  end
  local first = budgets[1]
  return print_amount(first.present.day) .. ' ' .. print_amount(first.present.month) .. ' ' .. print_amount(first.amounts.tokens) .. ' '
    .. print_amount(first.amounts.spend) .. ' ' .. table.concat(of, ',')
end

-- The budgets of which four fifths are taken by what `reserve` has just reserved, each once in its day or month; again where its limit was
-- changed. Returns for each: whose it is, the name of the limit, the limit, what is taken, and the number of the day or month. Of a limit that is
-- divided among cells it is the whole one, and as much of it as is taken of the part.
local function warnings_of(budgets)
  local warnings = {}
  for _, budget in ipairs(budgets) do
    for _, row in ipairs(budget_limits) do
      local limit, taken = budget.limits[row.limit], budget.present[row.count] + budget.amounts[row.kind]
      if limit and taken >= limit * 0.8 then
        local period = print_amount(budget.present[row.period])
        local whole = budget.whole[row.limit]
        if whole ~= limit then taken = limit > 0 and math.floor(taken * whole / limit + 0.5) or whole end
        local told = print_amount(whole) .. ' ' .. period
        if redis.call('HGET', budget.key, 'told_' .. row.limit) ~= told then
          redis.call('HSET', budget.key, 'told_' .. row.limit, told)
          warnings[#warnings + 1] = { budget.of, row.limit, print_amount(whole), print_amount(taken), period }
        end
      end
    end
  end
  return warnings
end

-- Replaces what was reserved by what a response has taken, in the day and the month of its accept, unless they are over. `f` holds its
-- `reserved`, tenant and key. A nil leaves what was reserved. Counts that were lost are never below zero.
local function settle_budgets(load, f, tokens, spend)
  local day, month, reserved_tokens, reserved_spend, ofs = string.match(f.reserved, '^(%d+) (%d+) (%d+) (%d+) (%S+)$')
  local more = {
    tokens = tokens and tokens - tonumber(reserved_tokens) or 0, spend = spend and spend - tonumber(reserved_spend) or 0
  }
  for of in string.gmatch(ofs, '%a+') do
    local budget = budget_key(load, of, of == 'tenant' and f.tenant or f.key)
    local present = redis.call('HMGET', budget, unpack(budget_fields))
    local is_same, fields = { day = present[1] == day, month = present[2] == month }, {}
    for at, row in ipairs(budget_limits) do
      if is_same[row.period] and more[row.kind] ~= 0 then
        fields[#fields + 1] = row.count
        fields[#fields + 1] = print_amount(math.max(0, (tonumber(present[at + 2]) or 0) + more[row.kind]))
      end
    end
    if fields[1] then redis.call('HSET', budget, unpack(fields)) end
  end
end

-- The cost of tokens, in billionths of the currency. `price` is that of one token: of input, of input from a cache, of input written to one,
-- and of output. `counted` are the same numbers of tokens; the first has all of the input.
local function price_of(price, counted)
  local each, tokens = {}, {}
  for word in string.gmatch(price, '%S+') do each[#each + 1] = tonumber(word) end
  for word in string.gmatch(counted, '%S+') do tokens[#tokens + 1] = tonumber(word) end
  tokens[1] = math.max(0, tokens[1] - tokens[2] - tokens[3])
  local sum = 0
  for at = 1, 4 do sum = sum + each[at] * tokens[at] end
  return math.floor(sum + 0.5)
end
