CREATE TABLE `ended_sessions` (
	`workspace_id` text NOT NULL,
	`session_hash` text NOT NULL,
	`ends_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `session_hash`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `ended_sessions_ends` ON `ended_sessions` (`ends_at`);--> statement-breakpoint
CREATE TABLE `owner_mails` (
	`workspace_id` text NOT NULL,
	`kind` text NOT NULL,
	`mailed_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `kind`)
) STRICT, WITHOUT ROWID;
