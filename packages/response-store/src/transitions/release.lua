-- Gives a response back unfinished, because the worker stops: the attempt is not counted.
--
-- KEYS  record
-- ARGV  token   of the attempt
-- Returns 1 when the lease was held and is now free, 0 otherwise.

if read(record, 'token').token ~= token then return 0 end
write(record, { token = '', worker = '' })
add(record, 'attempt', -1)
return 1
