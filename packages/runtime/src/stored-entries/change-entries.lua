-- Changes stored entries, unless somebody else has changed one since they were read.
--
-- KEYS[1]   hash: a field for each entry, and `version`, which holds another text after each change
-- KEYS[2]   another such hash that the change depends on; may be absent
-- ARGV[1]   the version that was read; empty when there was none
-- ARGV[2]   the version from now on, which no other change uses
-- ARGV[3]   the time of Redis, in milliseconds, past which the change comes too late; empty when it never does
-- ARGV[4]   with KEYS[2] alone: the version of that hash that was read; empty when there was none
-- the rest  fields to write, each with its value; an empty one takes the field away
--
-- Returns 1 once the change is made, also when an earlier call has made it, whose reply was lost. Returns 0, and changes
-- nothing, when another change came first, or when it is too late.
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version == ARGV[2] then return 1 end
if version ~= ARGV[1] then return 0 end
if ARGV[3] ~= '' then
  local time = redis.call('TIME')
  if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[3]) then return 0 end
end
local first = 4
if KEYS[2] then
  if (redis.call('HGET', KEYS[2], 'version') or '') ~= ARGV[4] then return 0 end
  first = 5
end
redis.call('HSET', KEYS[1], 'version', ARGV[2])
for at = first, #ARGV, 2 do
  if ARGV[at + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[at]) else redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
end
return 1
