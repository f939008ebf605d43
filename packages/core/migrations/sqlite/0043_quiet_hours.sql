ALTER TABLE `messages` ADD `deferred_until` integer;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `quiet_hours` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `time_zone` text;