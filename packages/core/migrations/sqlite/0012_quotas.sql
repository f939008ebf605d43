CREATE TABLE `test_usage` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`messages` integer NOT NULL,
	`bytes` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `api_keys_active` ON `api_keys` (`workspace_id`) WHERE is_active;