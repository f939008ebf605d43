CREATE TABLE `api_keys` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`key_hash` text NOT NULL,
	`key_prefix` text NOT NULL,
	`mode` text NOT NULL,
	`scopes` text NOT NULL,
	`is_active` integer NOT NULL,
	`expires_at` integer,
	`allowed_ips` text,
	`daily_credit_limit` integer,
	`last_used_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_key_hash` ON `api_keys` (`key_hash`);--> statement-breakpoint
CREATE TABLE `credit_accounts` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`balance` integer NOT NULL,
	`held` integer NOT NULL,
	`credit_limit` integer NOT NULL,
	`seq` integer NOT NULL,
	`status` text NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "credit_accounts_held" CHECK("credit_accounts"."held" >= 0),
	CONSTRAINT "credit_accounts_limit" CHECK("credit_accounts"."credit_limit" >= 0),
	CONSTRAINT "credit_accounts_cap" CHECK(abs("credit_accounts"."balance") <= 999999999999999)
) STRICT;
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event` text NOT NULL,
	`message_id` text,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`attempt_count` integer NOT NULL,
	`max_attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`response_status` integer,
	`response_time_ms` integer,
	`error` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`delivered_at` integer,
	PRIMARY KEY(`workspace_id`, `webhook_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `deliveries_message` ON `deliveries` (`workspace_id`,`message_id`);--> statement-breakpoint
CREATE TABLE `delivery_attempts` (
	`workspace_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`number` integer NOT NULL,
	`started_at` integer NOT NULL,
	`duration_ms` integer NOT NULL,
	`response_status` integer,
	`response_body` text,
	`error` text,
	PRIMARY KEY(`workspace_id`, `delivery_id`, `number`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `delivery_queue` (
	`delivery_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`due_at` integer NOT NULL,
	`token` text
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `delivery_queue_due` ON `delivery_queue` (`webhook_id`,`due_at`);--> statement-breakpoint
CREATE TABLE `events` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`event` text NOT NULL,
	`message_id` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`workspace_id` text NOT NULL,
	`route` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`response` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `route`, `key`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `ledger_entries` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`seq` integer NOT NULL,
	`kind` text NOT NULL,
	`amount` integer NOT NULL,
	`held_delta` integer NOT NULL,
	`balance_after` integer NOT NULL,
	`held_after` integer NOT NULL,
	`counter_account` text NOT NULL,
	`ref_type` text NOT NULL,
	`ref_id` text NOT NULL,
	`ref_n` integer NOT NULL,
	`channel` text,
	`quantity` integer,
	`unit_price` integer,
	`actor` text,
	`description` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `seq`),
	CONSTRAINT "ledger_entries_moves" CHECK("ledger_entries"."amount" <> 0 or "ledger_entries"."held_delta" <> 0),
	CONSTRAINT "ledger_entries_sign" CHECK(case "ledger_entries"."kind" when 'send' then "ledger_entries"."amount" < 0 when 'refund' then "ledger_entries"."amount" > 0 when 'grant' then "ledger_entries"."amount" > 0 when 'purchase' then "ledger_entries"."amount" > 0 else true end)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_reference` ON `ledger_entries` (`workspace_id`,`ref_id`,`kind`,`ref_type`,`ref_n`);--> statement-breakpoint
CREATE TABLE `message_attempts` (
	`workspace_id` text NOT NULL,
	`message_id` text NOT NULL,
	`number` integer NOT NULL,
	`provider` text NOT NULL,
	`outcome` text NOT NULL,
	`provider_message_id` text,
	`error_code` text,
	`error_message` text,
	`started_at` integer NOT NULL,
	`finished_at` integer,
	PRIMARY KEY(`workspace_id`, `message_id`, `number`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `message_events` (
	`workspace_id` text NOT NULL,
	`message_id` text NOT NULL,
	`id` text NOT NULL,
	`status` text NOT NULL,
	`applied` integer NOT NULL,
	`error_code` text,
	`error_message` text,
	`at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `message_id`, `id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `message_queue` (
	`message_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`channel` text NOT NULL,
	`task` text NOT NULL,
	`due_at` integer NOT NULL,
	`token` text,
	`attempt` integer NOT NULL,
	`unknown_since` integer
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `message_queue_due` ON `message_queue` (`due_at`);--> statement-breakpoint
CREATE TABLE `messages` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`api_key_id` text,
	`bulk_id` text,
	`channel` text NOT NULL,
	`sender` text,
	`recipient` text NOT NULL,
	`content` text NOT NULL,
	`metadata` text NOT NULL,
	`livemode` integer NOT NULL,
	`status` text NOT NULL,
	`accepted` integer NOT NULL,
	`credits_used` integer NOT NULL,
	`credits_refunded` integer NOT NULL,
	`segments` integer,
	`encoding` text,
	`provider` text,
	`provider_message_id` text,
	`error_code` text,
	`error_message` text,
	`sequence` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`scheduled_at` integer,
	`expires_at` integer,
	`sent_at` integer,
	`delivered_at` integer,
	`read_at` integer,
	`failed_at` integer,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`url` text NOT NULL,
	`description` text,
	`events` text NOT NULL,
	`headers` text NOT NULL,
	`secret` text NOT NULL,
	`is_active` integer NOT NULL,
	`status` text NOT NULL,
	`disabled_reason` text,
	`consecutive_failures` integer NOT NULL,
	`last_success_at` integer,
	`last_failure_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `workspaces` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`email_key` text NOT NULL,
	`email_verified` integer NOT NULL,
	`password_hash` text NOT NULL,
	`token_version` integer NOT NULL,
	`phone` text,
	`country` text,
	`sender_name` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `workspaces_email_key` ON `workspaces` (`email_key`);