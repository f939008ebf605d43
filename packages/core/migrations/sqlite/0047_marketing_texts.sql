ALTER TABLE `workspaces` ADD `postal_address` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `sms_opt_out_text` text;