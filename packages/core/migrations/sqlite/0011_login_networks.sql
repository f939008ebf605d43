CREATE TABLE `login_networks` (
	`workspace_id` text NOT NULL,
	`network` text NOT NULL,
	`last_login_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `network`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `login_networks_last_login` ON `login_networks` (`last_login_at`);