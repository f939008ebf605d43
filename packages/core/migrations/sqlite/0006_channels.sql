CREATE TABLE `conversations` (
	`workspace_id` text NOT NULL,
	`channel` text NOT NULL,
	`sender` text NOT NULL,
	`address` text NOT NULL,
	`last_sent_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `channel`, `sender`, `address`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `conversations_address` ON `conversations` (`channel`,`address`,`sender`,`last_sent_at`);--> statement-breakpoint
CREATE TABLE `message_parts` (
	`workspace_id` text NOT NULL,
	`message_id` text NOT NULL,
	`number` integer NOT NULL,
	`attempt` integer NOT NULL,
	`provider` text NOT NULL,
	`provider_message_id` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `message_id`, `attempt`, `number`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `message_parts_provider` ON `message_parts` (`provider`,`provider_message_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `parked_receipts` (
	`id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`provider_message_id` text NOT NULL,
	`receipt` text NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `parked_receipts_created` ON `parked_receipts` (`created_at`);--> statement-breakpoint
CREATE TABLE `provider_pauses` (
	`provider` text NOT NULL,
	`sender` text NOT NULL,
	`cause` text NOT NULL,
	`code` text,
	`reason` text NOT NULL,
	`failures` integer NOT NULL,
	`retry_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`provider`, `sender`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `received_messages` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`channel` text NOT NULL,
	`provider` text NOT NULL,
	`provider_message_id` text,
	`sender` text NOT NULL,
	`recipient` text NOT NULL,
	`content` text NOT NULL,
	`keyword` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `received_messages_provider` ON `received_messages` (`workspace_id`,`provider`,`provider_message_id`) WHERE provider_message_id is not null;--> statement-breakpoint
CREATE TABLE `received_parts` (
	`provider` text NOT NULL,
	`sender` text NOT NULL,
	`recipient` text NOT NULL,
	`reference` integer NOT NULL,
	`total` integer NOT NULL,
	`number` integer NOT NULL,
	`units` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`provider`, `sender`, `recipient`, `reference`, `total`, `number`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `received_parts_created` ON `received_parts` (`created_at`);