CREATE TABLE `audit_entries` (
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`action` text NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text,
	`address` text,
	`target_type` text,
	`target_id` text,
	`details` text NOT NULL,
	`request_id` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_entries_id` ON `audit_entries` (`id`);