CREATE TABLE `verification_counts` (
	`workspace_id` text NOT NULL,
	`country` text NOT NULL,
	`hour` integer NOT NULL,
	`sent` integer NOT NULL,
	`approved` integer NOT NULL,
	`credits_used` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `country`, `hour`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `verification_counts_hour` ON `verification_counts` (`hour`);--> statement-breakpoint
CREATE TABLE `verification_pauses` (
	`workspace_id` text NOT NULL,
	`country` text NOT NULL,
	`paused_at` integer NOT NULL,
	`sent` integer NOT NULL,
	`approved` integer NOT NULL,
	`allowed_until` integer,
	PRIMARY KEY(`workspace_id`, `country`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `verifications` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`api_key_id` text,
	`livemode` integer NOT NULL,
	`channel` text NOT NULL,
	`recipient` text NOT NULL,
	`locale` text NOT NULL,
	`options` text NOT NULL,
	`status` text NOT NULL,
	`seed` text,
	`code_length` integer NOT NULL,
	`attempts` integer NOT NULL,
	`sent_at` text NOT NULL,
	`message_id` text NOT NULL,
	`credits_used` integer NOT NULL,
	`country` text,
	`client_network` text,
	`metadata` text NOT NULL,
	`expires_in` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `verifications_recipient` ON `verifications` (`workspace_id`,`recipient`,`livemode`,`created_at`);--> statement-breakpoint
CREATE INDEX `verifications_open` ON `verifications` (`expires_at`) WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX `verifications_ended` ON `verifications` (`ended_at`) WHERE ended_at is not null;--> statement-breakpoint
CREATE INDEX `verifications_network` ON `verifications` (`workspace_id`,`client_network`,`created_at`);