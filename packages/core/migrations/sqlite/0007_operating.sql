CREATE TABLE `dispatch_pauses` (
	`scope` text PRIMARY KEY NOT NULL,
	`cause` text NOT NULL,
	`reason` text NOT NULL,
	`backup_at` integer,
	`created_at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `retention_marks` (
	`workspace_id` text NOT NULL,
	`kind` text NOT NULL,
	`before_id` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `kind`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `messages` ADD `erased_at` integer;