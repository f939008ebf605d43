CREATE TABLE `broadcasts` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`name` text,
	`channel` text NOT NULL,
	`sender` text,
	`template` text NOT NULL,
	`template_version` integer,
	`template_locale` text,
	`variables` text NOT NULL,
	`audience` text NOT NULL,
	`rate` integer,
	`status` text NOT NULL,
	`pause_reason` text,
	`pause_message` text,
	`scheduled_at` integer,
	`next_at` integer,
	`cursor` text NOT NULL,
	`until_id` text,
	`last_bulk_id` text,
	`canceled_through` text NOT NULL,
	`audience_size` integer,
	`contacts` integer NOT NULL,
	`accepted` integer NOT NULL,
	`suppressed` integer NOT NULL,
	`no_address` integer NOT NULL,
	`rejected` integer NOT NULL,
	`credits_used` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `broadcasts_due` ON `broadcasts` (`next_at`) WHERE next_at is not null;--> statement-breakpoint
ALTER TABLE `bulks` ADD `broadcast_id` text;--> statement-breakpoint
CREATE INDEX `bulks_broadcast` ON `bulks` (`workspace_id`,`broadcast_id`,`id`) WHERE broadcast_id is not null;