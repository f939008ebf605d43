ALTER TABLE `bulks` ADD `name` text;--> statement-breakpoint
ALTER TABLE `bulks` ADD `sender` text;--> statement-breakpoint
ALTER TABLE `bulks` ADD `content` text;--> statement-breakpoint
CREATE INDEX `messages_error` ON `messages` (`workspace_id`,`error_code`,`id`) WHERE error_code <> 'canceled';