CREATE TABLE `recipient_entries` (
	`workspace_id` text NOT NULL,
	`segment` integer NOT NULL,
	`bucket` integer NOT NULL,
	`message_id` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `segment`, `bucket`, `message_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `recipient_segments` (
	`workspace_id` text NOT NULL,
	`number` integer NOT NULL,
	`last_id` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `number`)
) STRICT, WITHOUT ROWID;
