-- Walks back over a response and what it continues from, and tells where their input and output are and how long.
--
-- KEYS  record (of the first one)
-- ARGV  record_prefix   what stands before an id in the key of a record
--       tenant
--       id              of the first one
--       count           most responses to look at
--       short_bytes     when the first one and all before it have at most so many bytes together, their content comes along
--
-- Returns { stopped at, whether content comes along, then for each: id, bytes of the input in its record, large_bytes,
-- request_ahead, bytes of its end, and where it comes along the input and the end that its record has }, with the newest
-- first. `stopped at` is the id behind the last one, empty when there is none. When that one could be looked at and is not
-- among them, it is gone, never was, is not stored, or is another tenant's: all cost the same.

local is_short

-- The content of all but the first comes with the call that reads the rest.
local function look_at(key)
  if is_short then
    local f = read(key, 'tenant stored previous large_bytes request_ahead end_bytes input result')
    return f
  end
  local f = read(key, 'tenant stored previous large_bytes request_ahead end_bytes context_bytes')
  if is_short == nil then is_short = (f.context_bytes or math.huge) <= short_bytes end
  if not is_short then return f, size(key, 'input'), size(key, 'result') end
  local content = read(key, 'input result')
  f.input, f.result = content.input, content.result
  return f
end

local reply = { id, 0 }
for _ = 1, count do
  local at = reply[1]
  if at == '' then break end
  local f, input_bytes, result_bytes = look_at(record_prefix .. at)
  if f.tenant ~= tenant or not f.stored then break end
  reply[#reply + 1] = at
  reply[#reply + 1] = input_bytes or #(f.input or '')
  reply[#reply + 1] = f.large_bytes or 0
  reply[#reply + 1] = f.request_ahead or 0
  reply[#reply + 1] = f.end_bytes or result_bytes or #(f.result or '')
  if is_short then
    reply[#reply + 1] = f.input or ''
    reply[#reply + 1] = f.result or ''
  end
  reply[1] = f.previous or ''
end
reply[2] = is_short and 1 or 0
return reply
