ALTER TABLE `verifications` ADD `fallback` text;--> statement-breakpoint
ALTER TABLE `verifications` ADD `fallback_at` integer;--> statement-breakpoint
ALTER TABLE `verifications` ADD `other_recipient` text;--> statement-breakpoint
ALTER TABLE `verifications` ADD `messages` text;--> statement-breakpoint
CREATE INDEX `verifications_fallback` ON `verifications` (`fallback_at`) WHERE fallback_at is not null and ended_at is null;--> statement-breakpoint
CREATE INDEX `verifications_other` ON `verifications` (`workspace_id`,`other_recipient`,`created_at`) WHERE other_recipient is not null;