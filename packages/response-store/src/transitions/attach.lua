-- Adds an api process to those that have somebody attached to a response. From then on it is a caller of it.
--
-- KEYS  record
-- ARGV  lease   of the api process
-- Returns the status, or nothing when there is no such record, or another release wrote it.

local f = read(record, 'version status watchers')
if not f.status or f.version ~= VERSION then return false end
local others = without_watcher(f.watchers, lease)
write(record, { watchers = others == '' and lease or (others .. ' ' .. lease), followed = '1' })
clear(record, 'left_at')
return f.status
