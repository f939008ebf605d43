CREATE TABLE `domain_claims` (
	`domain` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`domain_id` text NOT NULL,
	`claimed_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `sending_domains` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`domain` text NOT NULL,
	`status` text NOT NULL,
	`selector` text NOT NULL,
	`private_key` text NOT NULL,
	`public_key` text NOT NULL,
	`next_selector` text,
	`next_private_key` text,
	`next_public_key` text,
	`previous_selector` text,
	`findings` text NOT NULL,
	`check_error` text,
	`check_began_at` integer,
	`checked_at` integer,
	`check_due_at` integer,
	`verified_at` integer,
	`failing_since` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `sending_domains_domain` ON `sending_domains` (`workspace_id`,`domain`);--> statement-breakpoint
CREATE INDEX `sending_domains_check` ON `sending_domains` (`check_due_at`);