DROP INDEX `deliveries_message`;--> statement-breakpoint
CREATE INDEX `deliveries_message` ON `deliveries` (`workspace_id`,`message_id`) WHERE message_id is not null;