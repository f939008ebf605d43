CREATE TABLE `credit_causes` (
	`workspace_id` text NOT NULL,
	`day` integer NOT NULL,
	`cause_id` text NOT NULL,
	`cause_type` text NOT NULL,
	`channel` text NOT NULL,
	`api_key_id` text NOT NULL,
	`spent` integer NOT NULL,
	`refunded` integer NOT NULL,
	`refunds` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `day`, `cause_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `credit_days` (
	`workspace_id` text NOT NULL,
	`day` integer NOT NULL,
	`kind` text NOT NULL,
	`channel` text NOT NULL,
	`api_key_id` text NOT NULL,
	`count` integer NOT NULL,
	`amount` integer NOT NULL,
	`held_delta` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `day`, `kind`, `channel`, `api_key_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `credit_marks` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
) STRICT, WITHOUT ROWID;
