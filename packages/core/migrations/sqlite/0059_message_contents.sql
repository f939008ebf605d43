-- A message with a long content has the number of a row of this table in place of the content. A number is JSON too, and
-- the only JSON in this column that sorts before ':'.
CREATE TABLE `message_contents` (`id` integer PRIMARY KEY, `content` text NOT NULL) STRICT;
--> statement-breakpoint
CREATE INDEX `messages_content` ON `messages` (`content`) WHERE content < ':';
--> statement-breakpoint
CREATE TRIGGER `message_contents_replaced` AFTER UPDATE OF `content` ON `messages`
WHEN old.content < ':' AND new.content <> old.content
BEGIN
	DELETE FROM message_contents WHERE id = cast(old.content as integer)
	AND NOT EXISTS (SELECT 1 FROM messages WHERE content = old.content AND content < ':');
END;
--> statement-breakpoint
CREATE TRIGGER `message_contents_removed` AFTER DELETE ON `messages`
WHEN old.content < ':'
BEGIN
	DELETE FROM message_contents WHERE id = cast(old.content as integer)
	AND NOT EXISTS (SELECT 1 FROM messages WHERE content = old.content AND content < ':');
END;
