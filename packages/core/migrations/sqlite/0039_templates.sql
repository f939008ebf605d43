CREATE TABLE `template_versions` (
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`description` text,
	`category` text NOT NULL,
	`default_locale` text NOT NULL,
	`variables` text NOT NULL,
	`variants` text NOT NULL,
	`plain_texts` text NOT NULL,
	`size_bytes` integer NOT NULL,
	`published_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `name`, `version`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `templates` (
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`id` text NOT NULL,
	`description` text,
	`category` text NOT NULL,
	`default_locale` text NOT NULL,
	`variables` text NOT NULL,
	`variants` text NOT NULL,
	`kinds` text NOT NULL,
	`version` integer,
	`is_changed` integer NOT NULL,
	`published_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer,
	PRIMARY KEY(`workspace_id`, `name`)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `templates_id` ON `templates` (`workspace_id`,`id`);--> statement-breakpoint
ALTER TABLE `messages` ADD `template` text;--> statement-breakpoint
ALTER TABLE `messages` ADD `template_version` integer;--> statement-breakpoint
ALTER TABLE `messages` ADD `template_locale` text;--> statement-breakpoint
CREATE INDEX `messages_template` ON `messages` (`workspace_id`,`template`,`id`) WHERE template is not null;