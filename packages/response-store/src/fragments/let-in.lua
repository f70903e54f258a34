-- Fragment: responses of a tenant that wait for a place are let into their queues.

-- The key of the record with another id.
local function beside(record, id, other) return string.sub(record, 1, -#id - 1) .. other end

-- Says of an id whether nothing runs under it, for take_place.
local function is_gone_beside(record, id)
  return function(other)
    local f = read(beside(record, id, other), 'status')
    return not f.status or not is_open(f.status)
  end
end

-- Returns a list of `first`, and of id, queue and priority of each response that may go into its queue now. Whoever is
-- told of them moves their jobs; the rescue does for those of one that dies before.
local function let_in(first, record, id, load, tenant)
  local list = { first }
  for _, next in ipairs(next_in_line(load, tenant)) do
    local other, queue = next[1], next[2]
    local f = read(beside(record, id, other), 'status tag cost tier')
    if not f.status or not is_open(f.status) then
      leave_place(load, tenant, queue, other)
    else
      local fair, priority = fair_key(load, queue), nil
      if f.tag then
        priority = priority_of(fair, f.tag)
      else
        local tag
        tag, priority = take_tag(load, queue, flow_of(tenant, f.tier), f.cost)
        write(beside(record, id, other), { tag = tag })
      end
      list[#list + 1] = other
      list[#list + 1] = queue
      list[#list + 1] = priority
    end
  end
  return list
end
