-- Walks back over a response and what it continues from, and tells where their input and output are and how long.
--
-- KEYS  record (of the first one)
-- ARGV  record_prefix   what stands before an id in the key of a record
--       tenant
--       id              of the first one
--       count           most responses to look at
--
-- Returns { stopped at, then for each: id, bytes of the input in its record, large_bytes, request_ahead, bytes of its end }
-- with the newest first. `stopped at` is the id behind the last one, empty when there is none. When that one could be
-- looked at and is not among them, it is gone, never was, is not stored, or is another tenant's: all cost the same.

local reply = { id }
while #reply < 1 + 5 * count and reply[1] ~= '' do
  local at = reply[1]
  local key = record_prefix .. at
  local f = read(key, 'tenant stored previous large_bytes request_ahead end_bytes')
  if f.tenant ~= tenant or not f.stored then return reply end
  reply[#reply + 1] = at
  reply[#reply + 1] = size(key, 'input')
  reply[#reply + 1] = f.large_bytes or 0
  reply[#reply + 1] = f.request_ahead or 0
  reply[#reply + 1] = f.end_bytes or size(key, 'result')
  reply[1] = f.previous or ''
end
return reply
