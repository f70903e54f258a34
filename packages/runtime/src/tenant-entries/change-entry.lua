-- Changes one entry of a tenant, if it is what the change was made from.
--
-- KEYS  the entries of the tenant
-- ARGV  id, what it was (empty: it was not there), what it is from now on (empty: it is gone), the most that a tenant has
--
-- Returns 'ok', 'changed' when it is another one meanwhile, or 'full'; nothing is written then.

local id, before, after, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = redis.call('HGET', KEYS[1], id) or ''
if now == after then return 'ok' end -- the same call again, after its reply was lost
if now ~= before then return 'changed' end
if before == '' and redis.call('HLEN', KEYS[1]) >= most then return 'full' end
if after == '' then
  redis.call('HDEL', KEYS[1], id)
else
  redis.call('HSET', KEYS[1], id, after)
end
return 'ok'
