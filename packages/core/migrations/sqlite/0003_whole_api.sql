CREATE TABLE `account_tokens` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`purpose` text NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `account_tokens_workspace` ON `account_tokens` (`workspace_id`,`purpose`);--> statement-breakpoint
CREATE INDEX `account_tokens_expires` ON `account_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `api_key_spending` (
	`workspace_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`day` text NOT NULL,
	`spent` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `api_key_id`, `day`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `bulks` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`api_key_id` text,
	`channel` text NOT NULL,
	`livemode` integer NOT NULL,
	`total` integer NOT NULL,
	`accepted` integer NOT NULL,
	`rejected` integer NOT NULL,
	`duplicates` integer NOT NULL,
	`credits_used` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `contact_tags` (
	`workspace_id` text NOT NULL,
	`tag` text NOT NULL,
	`contact_id` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `tag`, `contact_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `contact_tags_contact` ON `contact_tags` (`workspace_id`,`contact_id`);--> statement-breakpoint
CREATE TABLE `contacts` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`phone` text,
	`email` text,
	`email_key` text,
	`external_id` text,
	`tags` text NOT NULL,
	`attributes` text NOT NULL,
	`subscriptions` text NOT NULL,
	`search_text` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `contacts_phone` ON `contacts` (`workspace_id`,`phone`);--> statement-breakpoint
CREATE UNIQUE INDEX `contacts_email_key` ON `contacts` (`workspace_id`,`email_key`);--> statement-breakpoint
CREATE UNIQUE INDEX `contacts_external_id` ON `contacts` (`workspace_id`,`external_id`);--> statement-breakpoint
CREATE TABLE `message_counts` (
	`workspace_id` text NOT NULL,
	`channel` text NOT NULL,
	`status` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `channel`, `status`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `purchases` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`package_id` text NOT NULL,
	`status` text NOT NULL,
	`credits` integer NOT NULL,
	`amount` integer NOT NULL,
	`currency` text NOT NULL,
	`provider` text NOT NULL,
	`session_id` text,
	`checkout_url` text,
	`success_url` text,
	`cancel_url` text,
	`version` integer NOT NULL,
	`expires_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`paid_at` integer,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `purchases_session` ON `purchases` (`session_id`);--> statement-breakpoint
CREATE TABLE `suppressions` (
	`workspace_id` text NOT NULL,
	`channel` text NOT NULL,
	`address` text NOT NULL,
	`reason` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `channel`, `address`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `webhooks` ADD `previous_secret` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `previous_secret_ends_at` integer;--> statement-breakpoint
CREATE INDEX `messages_kind` ON `messages` (`workspace_id`,`channel`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `messages_bulk` ON `messages` (`workspace_id`,`bulk_id`,`id`) WHERE bulk_id is not null;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, channel, status, count) SELECT workspace_id, channel, status, count(*) FROM messages GROUP BY workspace_id, channel, status;
