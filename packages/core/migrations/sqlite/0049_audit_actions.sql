CREATE INDEX `audit_entries_action` ON `audit_entries` (`action`,`id`);--> statement-breakpoint
CREATE INDEX `purchases_id` ON `purchases` (`id`);