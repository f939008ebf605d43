CREATE TABLE `file_chunks` (
	`workspace_id` text NOT NULL,
	`sha256` text NOT NULL,
	`number` integer NOT NULL,
	`content` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `sha256`, `number`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `files` (
	`workspace_id` text NOT NULL,
	`sha256` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`chunks` integer NOT NULL,
	`is_whole` integer NOT NULL,
	`unused_since` integer,
	PRIMARY KEY(`workspace_id`, `sha256`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `files_unused` ON `files` (`unused_since`) WHERE unused_since is not null;--> statement-breakpoint
CREATE TABLE `message_files` (
	`workspace_id` text NOT NULL,
	`message_id` text NOT NULL,
	`number` integer NOT NULL,
	`sha256` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `message_id`, `number`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `message_files_sha256` ON `message_files` (`workspace_id`,`sha256`);