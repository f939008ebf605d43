CREATE TABLE `removed_history` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`last_id` text NOT NULL,
	`messages` integer NOT NULL,
	`bulks` integer NOT NULL,
	`charged` integer NOT NULL,
	`refunded` integer NOT NULL,
	`charged_bulks` integer NOT NULL,
	`updated_at` integer NOT NULL
) STRICT;
