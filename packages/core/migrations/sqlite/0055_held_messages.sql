ALTER TABLE `message_queue` ADD `held_by` text;--> statement-breakpoint
CREATE INDEX `message_queue_held` ON `message_queue` (`held_by`,`message_id`) WHERE held_by is not null;