CREATE TABLE `credit_holds` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`message_id` text NOT NULL,
	`n` integer NOT NULL,
	`amount` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `credit_holds_message` ON `credit_holds` (`workspace_id`,`message_id`,`n`);--> statement-breakpoint
CREATE INDEX `credit_holds_expires` ON `credit_holds` (`expires_at`);--> statement-breakpoint
CREATE TABLE `credit_lots` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`amount` integer NOT NULL,
	`remaining` integer NOT NULL,
	`granted_seq` integer NOT NULL,
	`counted_seq` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`),
	CONSTRAINT "credit_lots_remaining" CHECK("credit_lots"."remaining" >= 0 and "credit_lots"."remaining" <= "credit_lots"."amount")
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `credit_lots_expires` ON `credit_lots` (`expires_at`) WHERE ended_at is null;--> statement-breakpoint
ALTER TABLE `bulks` ADD `retry_of` text;--> statement-breakpoint
CREATE UNIQUE INDEX `bulks_retry_of` ON `bulks` (`workspace_id`,`retry_of`) WHERE retry_of is not null;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `frozen_reason` text;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `daily_limit` integer;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `spent_on` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `spent` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `low_balance` integer;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `low_balance_default` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `credit_accounts` ADD `low_state` text DEFAULT 'no' NOT NULL;--> statement-breakpoint
CREATE INDEX `credit_accounts_low` ON `credit_accounts` (`workspace_id`) WHERE low_state = 'due';--> statement-breakpoint
ALTER TABLE `ledger_entries` ADD `resolves` text;--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_resolves` ON `ledger_entries` (`workspace_id`,`resolves`) WHERE resolves is not null;--> statement-breakpoint
ALTER TABLE `purchases` ADD `payment_id` text;--> statement-breakpoint
ALTER TABLE `purchases` ADD `review_reason` text;--> statement-breakpoint
CREATE UNIQUE INDEX `purchases_payment` ON `purchases` (`payment_id`);--> statement-breakpoint
CREATE INDEX `purchases_created` ON `purchases` (`created_at`);