ALTER TABLE `conversations` ADD `other_number` text;--> statement-breakpoint
ALTER TABLE `conversations` ADD `user_id` text;--> statement-breakpoint
CREATE INDEX `conversations_other_number` ON `conversations` (`channel`,`other_number`) WHERE other_number is not null;--> statement-breakpoint
CREATE INDEX `conversations_user_id` ON `conversations` (`channel`,`user_id`) WHERE user_id is not null;