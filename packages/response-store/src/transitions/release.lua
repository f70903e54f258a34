-- Gives a response back unfinished: the next claim need not wait for this worker.
--
-- KEYS  record
-- ARGV  token   of the attempt
--       uncounted   1 to take the attempt off the count, because it called nothing
--       postponed_by   channel on which this worker still wants to hear of a request for the end, or empty
-- Returns 1 when the response was held and is now free, 0 otherwise.

if read(record, 'token').token ~= token then return 0 end
if postponed_by == '' then
  write(record, { token = '', worker = '' })
else
  write(record, { token = '', worker = '', postponed_by = postponed_by })
end
if uncounted == '1' then add(record, 'attempt', -1) end
return 1
