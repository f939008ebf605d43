CREATE TABLE `__new_message_counts` (
	`workspace_id` text NOT NULL,
	`unit` text NOT NULL,
	`since` integer NOT NULL,
	`channel` text NOT NULL,
	`status` text NOT NULL,
	`count` integer NOT NULL,
	`test_count` integer DEFAULT 0 NOT NULL,
	`first_id` text,
	`last_id` text,
	PRIMARY KEY(`workspace_id`, `unit`, `since`, `channel`, `status`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_message_counts` (workspace_id, unit, since, channel, status, count, test_count) SELECT workspace_id, 'all', 0, channel, status, count, test_count FROM message_counts;--> statement-breakpoint
DROP TABLE `message_counts`;--> statement-breakpoint
ALTER TABLE `__new_message_counts` RENAME TO `message_counts`;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id) SELECT workspace_id, 'hour', created_at - (created_at % 3600000 + 3600000) % 3600000, channel, status, count(*), sum(livemode = false), min(id), max(id) FROM messages GROUP BY 1, 3, 4, 5;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id) SELECT workspace_id, 'day', since - (since % 86400000 + 86400000) % 86400000, channel, status, sum(count), sum(test_count), min(first_id), max(last_id) FROM message_counts WHERE unit = 'hour' GROUP BY 1, 3, 4, 5;--> statement-breakpoint
CREATE INDEX `message_counts_all` ON `message_counts` (`workspace_id`,`channel`,`status`) WHERE unit = 'all';
