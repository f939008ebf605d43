CREATE TABLE `webhook_failures` (
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`slot` integer NOT NULL,
	`delivery_id` text NOT NULL,
	`number` integer NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `webhook_id`, `slot`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_hours` (
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`hour` integer NOT NULL,
	`outcome` text NOT NULL,
	`step` integer NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `webhook_id`, `hour`, `outcome`, `step`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_hours_hour` ON `webhook_hours` (`hour`);--> statement-breakpoint
ALTER TABLE `webhooks` ADD `failed_attempts` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `failing_since` integer;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `notice` text DEFAULT 'no' NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `disabled_at` integer;--> statement-breakpoint
CREATE INDEX `webhooks_notice` ON `webhooks` (`workspace_id`,`id`) WHERE notice in ('failing_due', 'disabled_due') and callback_origin is null;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `webhook_mails` integer DEFAULT true NOT NULL;