CREATE TABLE `verification_spending` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`spent` integer NOT NULL
) STRICT;
--> statement-breakpoint
ALTER TABLE `verifications` ADD `code_removed` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `verifications_code` ON `verifications` (`created_at`) WHERE code_removed = false;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `verification_daily_credits` integer;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `verification_countries` text;