ALTER TABLE `api_keys` ADD `sealed_key` text;--> statement-breakpoint
ALTER TABLE `messages` ADD `status_callback` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `format` text DEFAULT 'svc' NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `api_key_id` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `callback_origin` text;--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_callback_origin` ON `webhooks` (`workspace_id`,`api_key_id`,`callback_origin`) WHERE callback_origin is not null;