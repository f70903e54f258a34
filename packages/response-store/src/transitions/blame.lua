-- Blames a response for the death of the process that ran it: nothing else ran there. Its next claim, which finds that run
-- lost, ends it.
--
-- KEYS  record
-- ARGV  most_losses   most runs that may die with their process
-- Returns 1 when the response was running as far as the record says, 0 otherwise. Running it twice is the same.

local f = read(record, 'status token counted')
-- A response that ended or was given back before its process died did not kill the process.
if not f.status or not is_open(f.status) or f.token == '' or f.counted ~= f.token then return 0 end
write(record, { losses = most_losses - 1 })
return 1
