CREATE TABLE `event_log` (
	`position` integer PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`event_id` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `event_log_state` (
	`name` text PRIMARY KEY NOT NULL,
	`is_kept` integer NOT NULL,
	`position` integer NOT NULL,
	`since` integer NOT NULL
) STRICT;
