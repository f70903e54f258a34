-- Notes limits of queues for the process that divides them. Notes that nobody renews go by themselves.
--
-- KEYS  told (hash: queue -> limit and when it was told)
-- ARGV  how long the notes stand, in milliseconds, then each queue and its note

local told = KEYS[1]
for at = 2, #ARGV, 2 do redis.call('HSET', told, ARGV[at], ARGV[at + 1]) end
redis.call('PEXPIRE', told, ARGV[1])
