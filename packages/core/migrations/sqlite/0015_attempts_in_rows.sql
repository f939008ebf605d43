-- Without a rowid, each row of these tables is written to one tree in place of two.
CREATE TABLE `deliveries_new` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event` text NOT NULL,
	`message_id` text,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`livemode` integer DEFAULT true NOT NULL,
	`attempt_count` integer NOT NULL,
	`max_attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`response_status` integer,
	`response_time_ms` integer,
	`error` text,
	`started_at` integer,
	`response_body` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`delivered_at` integer,
	PRIMARY KEY(`workspace_id`, `webhook_id`, `id`)
) STRICT, WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `deliveries_new`
SELECT `id`, `workspace_id`, `webhook_id`, `event_id`, `event`, `message_id`, `status`, `trigger`, `livemode`,
	`attempt_count`, `max_attempts`, `next_attempt_at`, `response_status`, `response_time_ms`, `error`, NULL, NULL,
	`created_at`, `updated_at`, `delivered_at`
FROM `deliveries` ORDER BY `workspace_id`, `webhook_id`, `id`;--> statement-breakpoint
DROP TABLE `deliveries`;--> statement-breakpoint
ALTER TABLE `deliveries_new` RENAME TO `deliveries`;--> statement-breakpoint
CREATE INDEX `deliveries_message` ON `deliveries` (`workspace_id`,`message_id`);--> statement-breakpoint
CREATE TABLE `events_new` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`event` text NOT NULL,
	`message_id` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT, WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `events_new`
SELECT `workspace_id`, `id`, `event`, `message_id`, `body`, `created_at`
FROM `events` ORDER BY `workspace_id`, `id`;--> statement-breakpoint
DROP TABLE `events`;--> statement-breakpoint
ALTER TABLE `events_new` RENAME TO `events`;
