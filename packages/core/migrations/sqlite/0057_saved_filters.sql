CREATE TABLE `saved_filters` (
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`filter` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `user_id`, `id`)
) STRICT;
