-- The flows to which some running responses of a queue belong, and how far the order of the queue has come.
--
-- KEYS  fair, records (what stands before an id in the key of a record), load
-- ARGV  the ids
-- Returns the distance of the virtual time from the base, in ticks; then for each flow how many of them are its own, the cost
-- of one, how far its next tag is ahead of the virtual time, and how many responses of its tenant wait. Numbers are texts, since they
-- may have a fraction.

local f = redis.call('ZMSCORE', fair, 'now', 'base')
local now, base = tonumber(f[1]) or 0, tonumber(f[2]) or 0
local counts, costs, tenants, order = {}, {}, {}, {}
for at = more_args, #ARGV do
  local r = read(records .. ARGV[at], 'tenant tier cost')
  -- A release before this one has kept no cost of those that went into their queue at once.
  if r.tenant and r.cost then
    local flow = flow_of(r.tenant, r.tier)
    if not counts[flow] then order[#order + 1] = flow end
    counts[flow], costs[flow], tenants[flow] = (counts[flow] or 0) + 1, r.cost, r.tenant
  end
end
local list = { tostring(now - base) }
for _, flow in ipairs(order) do
  list[#list + 1] = tostring(counts[flow])
  list[#list + 1] = tostring(costs[flow])
  list[#list + 1] = tostring((tonumber(redis.call('ZSCORE', fair, flow) or nil) or now) - now)
  local weight = tonumber(redis.call('HGET', load, 'tenant:' .. tenants[flow]) or nil) or 0
  list[#list + 1] = tostring(math.max(0, math.floor(weight / per_response)))
end
return list
