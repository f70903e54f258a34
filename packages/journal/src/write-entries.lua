-- Adds entries to the journal. One script instead of a command for each: what a process spends on it is a quarter.
--
-- KEYS  journal
-- ARGV  most   cuts the journal to about so many entries; empty to leave it
--       then the text of each entry

for at = 2, #ARGV do redis.call('XADD', KEYS[1], '*', 'e', ARGV[at]) end
if ARGV[1] ~= '' then redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1]) end
