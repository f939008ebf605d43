CREATE TABLE `bulk_rejections` (
	`workspace_id` text NOT NULL,
	`bulk_id` text NOT NULL,
	`position` integer NOT NULL,
	`recipient` text,
	`error` text NOT NULL,
	`message` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `bulk_id`, `position`)
) STRICT, WITHOUT ROWID;
