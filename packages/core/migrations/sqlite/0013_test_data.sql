ALTER TABLE `deliveries` ADD `livemode` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `message_counts` ADD `test_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `received_messages` ADD `livemode` integer DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX `received_messages_test` ON `received_messages` (`workspace_id`,`livemode`,`id`) WHERE livemode = false;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `mode` text DEFAULT 'all' NOT NULL;--> statement-breakpoint
CREATE INDEX `messages_test` ON `messages` (`workspace_id`,`livemode`,`channel`,`status`,`id`) WHERE livemode = false;--> statement-breakpoint
UPDATE message_counts SET test_count = (SELECT count(*) FROM messages m WHERE m.workspace_id = message_counts.workspace_id AND m.livemode = false AND m.channel = message_counts.channel AND m.status = message_counts.status);
