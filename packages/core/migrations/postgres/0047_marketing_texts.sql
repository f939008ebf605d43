ALTER TABLE "workspaces" ADD COLUMN "postal_address" text;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "sms_opt_out_text" text;