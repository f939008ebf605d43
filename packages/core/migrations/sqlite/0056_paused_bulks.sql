ALTER TABLE `bulks` ADD `paused_at` integer;--> statement-breakpoint
ALTER TABLE `bulks` ADD `next_at` integer;--> statement-breakpoint
CREATE INDEX `bulks_paused` ON `bulks` (`workspace_id`,`id`) WHERE paused_at is not null;--> statement-breakpoint
CREATE INDEX `bulks_due` ON `bulks` (`next_at`) WHERE next_at is not null;