ALTER TABLE `delivery_queue` ADD `set_at` integer;--> statement-breakpoint
ALTER TABLE `message_queue` ADD `set_at` integer;