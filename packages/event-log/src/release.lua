-- Gives a response back unfinished, because the worker stops: the attempt is not counted.
--
-- KEYS[1] record   ARGV[1] token of the attempt
-- Returns 1 when the lease was held and is now free, 0 otherwise.

if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'token', '', 'worker', '')
redis.call('HINCRBY', KEYS[1], 'attempt', -1)
return 1
