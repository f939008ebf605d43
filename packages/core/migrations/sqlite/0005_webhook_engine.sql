ALTER TABLE `webhooks` ADD `accepted_secret` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `enabled_at` integer;