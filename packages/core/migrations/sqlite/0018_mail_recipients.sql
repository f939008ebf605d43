ALTER TABLE `messages` ADD `recipients` text;--> statement-breakpoint
ALTER TABLE `messages` ADD `tags` text;